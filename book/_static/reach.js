// On every page, for readers who have no mouse or another way to see a page, and for paper.

const html = document.documentElement;

// What is wider than the screen takes part in the order of keys, so that arrows move it: browsers do
// not all see to that. The theme does for code and for tables of its own, not for these.
const WIDE = '.siscm-table > div, figure:has(.siscm-wide), mjx-container[display="true"]';
const ours = new Set();
const reach = () => {
  for (const part of document.querySelectorAll(WIDE)) {
    const wide = part.scrollWidth > part.clientWidth + 1;
    if (wide && part.tabIndex < 0) {
      part.tabIndex = 0;
      ours.add(part);
    } else if (!wide && ours.delete(part)) part.removeAttribute("tabindex");
  }
};

// A button that opens a box is called as what it shows and as its box, not the same on every box.
const name = (button) => {
  const said = button.parentElement.textContent.trim();
  button.removeAttribute("aria-label");
  button.insertAdjacentHTML("beforeend", '<span class="visually-hidden"></span>');
  button.lastElementChild.textContent = said;
};

addEventListener("load", () => {
  new ResizeObserver(reach).observe(document.querySelector("main"));
  document.querySelectorAll("button.toggle-button").forEach(name);
});

// Paper is white, whatever the screen: on it the letters of a dark page could hardly be seen.
let theme;
addEventListener("beforeprint", () => {
  theme = html.dataset.theme;
  html.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  html.dataset.theme = theme;
});
