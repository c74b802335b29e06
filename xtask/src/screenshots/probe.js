// Runs inside a page and tells the page around it how high it is and what is wrong with it. The frame's name says what is
// expected: its width and its colour scheme.
addEventListener('load', async () => {
  const [width, scheme] = window.name.split(' ');
  const root = document.documentElement;
  const wrong = [];
  const hold = (holds, what) => { if (!holds) wrong.push(what); };
  hold(innerWidth === Number(width), `is ${innerWidth} px wide`);
  hold(matchMedia(`(prefers-color-scheme: ${scheme})`).matches, 'is in the other colour scheme');
  hold(root.scrollWidth <= innerWidth, `scrolls sideways: ${root.scrollWidth} px`);
  const links = [...document.querySelectorAll('nav a')];
  hold(links.length > 0, 'has no list of contents');
  for (const { hash } of links) hold(document.getElementById(hash.slice(1)), `has no heading for the link ${hash}`);
  for (const head of document.querySelectorAll('th')) hold(head.textContent.trim(), 'has an empty table header');
  for (const box of document.querySelectorAll('main *')) {
    if (box.scrollWidth <= box.clientWidth || getComputedStyle(box).overflowX !== 'auto') continue;
    hold(box.tabIndex >= 0 && box.ariaLabel, `has a region that scrolls and takes no focus: ${box.className}`);
  }
  if (window.axe) {
    for (const found of (await window.axe.run()).violations) {
      wrong.push(`axe ${found.impact} ${found.id}: ${found.nodes[0].target.join(' ')}`);
    }
  }
  parent.postMessage({ high: root.scrollHeight, wrong: wrong.join('; ') }, '*');
});
