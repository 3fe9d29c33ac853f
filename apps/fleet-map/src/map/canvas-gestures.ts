export type Gestures = {
  onPan: (dx: number, dy: number) => void
  /** Zooms in by `by` levels around pixel (x, y). */
  onZoom: (x: number, y: number, by: number) => void
  /** Called at the end of a movement. */
  onMoveEnd: () => void
  onClick: (x: number, y: number) => void
  onDoubleClick: () => void
}

const clickTolerancePx = 5
const keyStepPx = 80
const wheelPxPerLevel = 300

/** Reports pointer, wheel and keyboard gestures on the canvas. */
export function listenForGestures(element: HTMLCanvasElement, gestures: Gestures): void {
  const { onPan, onZoom, onMoveEnd, onClick, onDoubleClick } = gestures
  let drag: { x: number; y: number; distancePx: number } | undefined
  element.addEventListener('pointerdown', (event) => {
    element.setPointerCapture(event.pointerId)
    drag = { x: event.offsetX, y: event.offsetY, distancePx: 0 }
  })
  element.addEventListener('pointermove', ({ offsetX: x, offsetY: y }) => {
    if (!drag) return
    const [dx, dy] = [x - drag.x, y - drag.y]
    onPan(dx, dy)
    drag = { x, y, distancePx: drag.distancePx + Math.abs(dx) + Math.abs(dy) }
  })
  element.addEventListener('pointerup', ({ offsetX, offsetY }) => {
    if (drag && drag.distancePx < clickTolerancePx) onClick(offsetX, offsetY)
    else onMoveEnd()
    drag = undefined
  })
  element.addEventListener('dblclick', onDoubleClick)
  element.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault()
      onZoom(event.offsetX, event.offsetY, -event.deltaY / wheelPxPerLevel)
      onMoveEnd()
    },
    { passive: false },
  )
  element.addEventListener('keydown', (event) => {
    const [middleX, middleY] = [element.clientWidth / 2, element.clientHeight / 2]
    const steps: Record<string, () => void> = {
      ArrowLeft: () => onPan(keyStepPx, 0),
      ArrowRight: () => onPan(-keyStepPx, 0),
      ArrowUp: () => onPan(0, keyStepPx),
      ArrowDown: () => onPan(0, -keyStepPx),
      '+': () => onZoom(middleX, middleY, 1),
      '-': () => onZoom(middleX, middleY, -1),
    }
    const step = steps[event.key]
    if (!step) return
    event.preventDefault()
    step()
    onMoveEnd()
  })
}
