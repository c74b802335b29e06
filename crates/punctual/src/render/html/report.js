// Says under a picture what the column pointed at holds, and lets arrow keys walk the columns. Without this the
// browser's own tooltips say the same.
for (const svg of document.querySelectorAll('.readable > svg')) {
  const hits = [...svg.querySelectorAll('.hit')];
  if (!hits.length) continue;
  const says = document.createElement('output');
  says.textContent = 'Point at a column, or focus the picture and use the arrow keys.';
  svg.parentElement.after(says);
  let at = -1;
  const show = (next) => {
    if (next < 0 || next >= hits.length) return;
    hits[at]?.classList.remove('at');
    at = next;
    hits[at].classList.add('at');
    says.textContent = hits[at].querySelector('title').textContent.replace('\n', ': ').replaceAll('\n', ' · ');
  };
  svg.addEventListener('pointermove', (event) => show(hits.indexOf(event.target.closest('.hit'))));
  svg.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(Math.min(Math.max(at + step, 0), hits.length - 1));
  });
}
