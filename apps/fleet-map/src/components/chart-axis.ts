/** Returns the value of a CSS variable of the page, such as `--line` or `var(--line)`. */
export const styleValue = (name: string): string =>
  getComputedStyle(document.documentElement)
    .getPropertyValue(name.replace(/^var\(|\)$/g, ''))
    .trim()

/** Returns the look of an axis in the page's theme and size of text, and the width of the axis beside the plot. */
export function axisLook() {
  return {
    axis: {
      stroke: styleValue('--text-faint'),
      grid: { stroke: styleValue('--line'), width: 1 },
      ticks: { show: false },
      font: `${styleValue('--text-xs')} system-ui`,
    },
    widthPx: Number.parseFloat(styleValue('--axis-width')),
  }
}
