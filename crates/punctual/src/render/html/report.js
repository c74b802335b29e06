// Says under the pictures of a section what the column pointed at holds, and lets arrow keys walk the columns.
// Without this the browser's own tooltips say the same.
for (const section of document.querySelectorAll('.figures')) {
  if (!section.querySelector('.hit')) continue;
  const says = document.createElement('output');
  says.textContent = 'Point at a column, or focus a picture and use the arrow keys.';
  section.querySelector(':scope > .caption').before(says);
  for (const svg of section.querySelectorAll('svg:has(.hit)')) {
    svg.tabIndex = 0;
    const hits = [...svg.querySelectorAll('.hit')];
    const name = svg.closest('figure').querySelector('figcaption')?.firstChild.textContent.trim();
    let at = -1;
    const show = (next) => {
      if (next < 0 || next >= hits.length) return;
      section.querySelector('.hit.at')?.classList.remove('at');
      at = next;
      says.className = 'used';
      hits[at].classList.add('at');
      const [head, ...rest] = hits[at].querySelector('title').textContent.split('\n');
      const named = name && !rest.join().includes(name) ? `${name}, ` : '';
      says.textContent = `${named}${head}: ${rest.join(' \u00b7 ')}`;
    };
    svg.addEventListener('pointermove', (event) => show(hits.indexOf(event.target.closest('.hit'))));
    svg.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(Math.min(Math.max(at + step, 0), hits.length - 1));
    });
  }
}
