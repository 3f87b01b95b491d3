// On every page, run before MathJax starts and before a search does: pages need no file but the book's.

// The menu of a formula offers what MathJax would load from files that are not in the book, and it
// stores what was chosen, for all pages of a host, or of the disk. Each formula then waits for such
// a file and is never set. So: no menu, and what is stored, by whatever book, is not read.
if (window.MathJax) {
  MathJax.options.enableMenu = false;
  MathJax.startup = {
    ready() {
      MathJax._.ui.menu.Menu.Menu.prototype.mergeUserSettings = () => {};
      MathJax.startup.defaultReady();
    },
  };
}

// Lines from the pages that a search found are fetched, which browsers refuse to a page on the disk.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
