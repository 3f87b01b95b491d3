// What keeps a page from a reader who has no mouse, or hears what others see, on the screen as it is.
() => {
  const brief = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 90);
  const all = (kinds) =>
    [...document.querySelectorAll(kinds)].filter((one) => one.checkVisibility({ visibilityProperty: true }));

  // Moved sideways by a mouse or a finger, and by no key.
  const unmoved = all("body *").filter(
    (one) =>
      one.scrollWidth > one.clientWidth + 1 &&
      /auto|scroll/.test(getComputedStyle(one).overflowX) &&
      one.tabIndex < 0,
  );
  // Formulas within a line that go on where nobody sees them.
  const cut = all("span.math").filter((one) => {
    const drawn = one.querySelector("svg")?.getBoundingClientRect().right ?? 0;
    return drawn > one.getBoundingClientRect().right + 2;
  });
  const named = (one) =>
    (one.ariaLabel ?? "") + one.textContent.trim() + one.title + (one.placeholder ?? "") ||
    one.querySelector("img[alt], svg[aria-label]") || one.labels?.length;
  const nameless = all("a[href], button, input:not([type=hidden])").filter((one) => !named(one));
  const headless = all("th:not([scope])");

  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  const twice = ids.filter((id, place) => ids.indexOf(id) !== place);
  return [...unmoved, ...cut, ...nameless, ...headless].map(brief).concat(twice);
};
