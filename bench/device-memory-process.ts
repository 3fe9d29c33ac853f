import { fillPart, type PartName } from './device-memory-parts.ts'

// node --expose-gc device-memory-process.ts PART DEVICES: prints what the part keeps of each device.
const [part, count] = process.argv.slice(2)
const devices = Number(count)
const reportsPerDevice = 3

const usedBytes = (): number => {
  // The second collection frees what finalizers of the first one released.
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const beforeBytes = usedBytes()
const startedMs = performance.now()
const filled = await fillPart(part as PartName, devices, reportsPerDevice)
const tookMs = performance.now() - startedMs
const bytesPerDevice = (usedBytes() - beforeBytes) / devices
console.log(JSON.stringify({ bytesPerDevice, microsecondsPerReport: (tookMs * 1_000) / (devices * reportsPerDevice) }))
// The part must be reachable until here.
filled.keep()
