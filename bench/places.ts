/** Returns a deterministic, even distribution over Europe, with multiples of the golden ratio and the plastic number. */
export const place = (index: number): { lat: number; lon: number } => ({
  lat: Math.round((38 + ((index * 0.7548776662466927) % 1) * 22) * 1e5) / 1e5,
  lon: Math.round((-8 + ((index * 0.6180339887498949) % 1) * 36) * 1e5) / 1e5,
})
