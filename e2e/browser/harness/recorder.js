/** Watches a run page from inside, at every frame, so that nothing that was shown for a moment goes unseen. */

export function startRecorder(page) {
  return page.evaluate(() => {
    const seen = { meters: {}, hatched: false, textLengths: [], stopPlaces: [], artifactsWhileRunning: false };
    window.seen = seen;
    const remember = (list, value) => {
      if (list.at(-1) !== value) list.push(value);
    };
    const look = () => {
      for (const meter of document.querySelectorAll('[role="meter"]')) {
        const parts = (seen.meters[meter.ariaLabel] ??= []);
        remember(parts, parseFloat(meter.children[0].style.width));
        const reserved = meter.children[1];
        if (parseFloat(reserved.style.width) > 0 && getComputedStyle(reserved).backgroundImage.includes("repeating-linear-gradient")) seen.hatched = true;
      }
      const first = document.querySelector('section[aria-label="Iteration 2"] p');
      if (first && !first.textContent.startsWith("Waiting for")) remember(seen.textLengths, first.textContent.length);
      const stop = [...document.querySelectorAll("button")].find(({ textContent }) => /^Stop/.test(textContent));
      if (stop) remember(seen.stopPlaces, Object.values(stop.getBoundingClientRect().toJSON()).join());
      const isRunning = /Running/.test(document.querySelector("header")?.textContent);
      if (isRunning && document.querySelector('[role="group"][aria-label="Artifacts"]')) seen.artifactsWhileRunning = true;
      requestAnimationFrame(look);
    };
    look();
  });
}

export function recorded(page) {
  return page.evaluate(() => window.seen);
}
