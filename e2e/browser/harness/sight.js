/** What a person with ordinary sight could not read: too little contrast, or cut off. */

const LEAST_CONTRAST = 4.5;

/** Texts below the contrast that level AA asks for; what is disabled is exempt. */
export function faintTexts(page) {
  return page.evaluate(findFaintTexts, LEAST_CONTRAST);
}

/** Texts of the header, the meters and the steps whose box is too small for them. Titles may end in an ellipsis. */
export function clippedTexts(page) {
  return page.evaluate(() => {
    const parts = document.querySelectorAll('header *, [role="meter"], [aria-label="Steps"] button *, dl *');
    const isCut = ({ scrollWidth, clientWidth, children, textContent }) => children.length === 0 && textContent !== "" && clientWidth > 0 && scrollWidth > clientWidth + 1;
    return [...parts].filter(isCut).map(({ textContent }) => textContent);
  });
}

function findFaintTexts(least) {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const ancestors = (element) => (element === null ? [] : [...ancestors(element.parentElement), element]);
  const backdrop = (element) => ancestors(element).reduce((below, each) => over(rgba(getComputedStyle(each).backgroundColor), below), [255, 255, 255, 1]);
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const isShown = node.textContent.trim() !== "" && element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !["SCRIPT", "STYLE"].includes(element.tagName);
    if (!isShown || element.closest("[disabled], [aria-hidden='true'], [aria-hidden='']")) continue;
    const behind = backdrop(element);
    const opacity = ancestors(element).reduce((product, each) => product * Number(getComputedStyle(each).opacity), 1);
    const [r, g, b, a] = rgba(getComputedStyle(element).color);
    const [one, two] = [luminance(over([r, g, b, a * opacity], behind)), luminance(behind)];
    const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (contrast < least) faint.push(`${node.textContent.trim().slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return [...new Set(faint)];
}
