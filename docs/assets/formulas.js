// Renders every formula that arithmatex marked; `document$` fires on each page that Material shows.
document$.subscribe(() => {
  for (const node of document.querySelectorAll(".arithmatex")) {
    const text = node.textContent.trim();
    const display = text.startsWith("\\[");
    katex.render(text.slice(2, -2), node, { displayMode: display, throwOnError: false });
  }
});
