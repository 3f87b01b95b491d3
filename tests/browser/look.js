// What a page looks like to a reader, asked inside the page once it has come to rest.
async () => {
  const late = new Promise((done) => setTimeout(done, 20_000)); // a formula may wait for ever
  await Promise.race([window.MathJax?.startup?.promise, late]);
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
    .filter((node) => !node.parentElement.closest("code, pre, .sig, script, style, noscript, .math"))
    .filter((node) => /\$[^$]+\$|\\[([a-zA-Z]/.test(node.data))
    .map((node) => brief(node.data));

  const images = [...document.images].map((image) => ({
    address: image.src,
    alt: image.alt,
    shown: image.complete && image.naturalWidth > 0,
  }));
  // Drawings within the page; those in a button or a link are only its sign.
  const drawings = [...document.querySelectorAll("svg")]
    .filter((svg) => !svg.closest("mjx-container, [aria-hidden=true], a, button, summary, label"))
    .map((svg) => ({
      address: brief(svg.outerHTML),
      alt: svg.ariaLabel ?? svg.querySelector(":scope > title")?.textContent ?? "",
      shown: true,
    }));
  const links = [...document.querySelectorAll("a[href]")].map((link) => link.href);
  const hints = [...document.querySelectorAll("link[href]")].map((link) => link.href);
  const spoken = document.querySelectorAll("mjx-container > mjx-assistive-mml > math").length;

  const shown = [...images, ...drawings];
  return { formulas: formulas.length, unrendered, raw, spoken, images: shown, links, hints };
};
