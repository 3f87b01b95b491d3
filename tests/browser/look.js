// What a page looks like to a reader, asked inside the page once it has come to rest.
async () => {
  await window.MathJax?.startup?.promise;
  for (const image of document.images) image.loading = "eager"; // a lazy one would wait for ever
  await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));

  const brief = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);
  const texts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) if (walker.currentNode.data.trim()) found.push(walker.currentNode);
    return found;
  };

  // Formulas: every element that was to become one, and text that still looks like one.
  const formulas = [...document.querySelectorAll(".math")];
  const unrendered = formulas
    .filter((element) => !element.querySelector("mjx-container"))
    .concat([...document.querySelectorAll("mjx-merror, [data-mml-node=merror]")])
    .map((element) => brief(element.textContent));
  const raw = texts()
    .filter((node) => !node.parentElement.closest("code, pre, script, style, noscript, .math"))
    .filter((node) => /\$[^$\s][^$]*\$|\\[([]|\\[a-zA-Z]{2,}/.test(node.data))
    .map((node) => brief(node.data));

  const images = [...document.images].map((image) => ({
    address: image.src,
    alt: (image.getAttribute("alt") ?? "").trim(),
    src: image.getAttribute("src"),
    shown: image.complete && image.naturalWidth > 0,
  }));
  const links = [...document.querySelectorAll("a[href]")].map((link) => link.href);

  return { formulas: formulas.length, unrendered, raw, images, links };
};
