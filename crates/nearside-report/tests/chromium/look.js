// Draws each figure of the page twice, as it is and without its marks, and counts the pixels that
// differ: axes, labels and legends are no data.
(async () => {
  const style = document.querySelector('style').textContent;

  async function pixels(svg, width, height) {
    const own = document.createElementNS('http://www.w3.org/2000/svg', 'style');
    own.textContent = style;
    svg.prepend(own);
    svg.setAttribute('width', width);
    svg.setAttribute('height', height);
    const text = new XMLSerializer().serializeToString(svg);
    const image = new Image();
    image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    return new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  }

  async function look(figure) {
    const svg = figure.querySelector('svg');
    const box = svg.getBoundingClientRect();
    const [width, height] = [Math.round(box.width), Math.round(box.height)];
    const bare = svg.cloneNode(true);
    bare.querySelectorAll('.mark').forEach((mark) => mark.remove());
    let inked = 0;
    if (width > 0 && height > 0) {
      const whole = await pixels(svg.cloneNode(true), width, height);
      const empty = await pixels(bare, width, height);
      whole.forEach((pixel, at) => { inked += pixel !== empty[at] ? 1 : 0; });
    }
    const words = ['title', 'desc'].map((name) => svg.querySelector(name)?.textContent ?? '');
    return { figure: figure.id, width, height, inked, words: words.join(' ').trim() };
  }

  const seen = [];
  for (const figure of document.querySelectorAll('figure')) seen.push(await look(figure));
  const report = document.createElement('pre');
  report.id = 'seen';
  report.textContent = JSON.stringify(seen);
  document.body.append(report);
})();
