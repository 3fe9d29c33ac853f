import { type Conversion, scaled, unusable } from '../conversions.ts'

/** `ddmm.mmmm,N` or `dddmm.mmmm,W` as degrees. */
export const nmeaDegrees: Conversion = {
  description: 'degrees and minutes with the hemisphere',
  read: (value) => {
    const [, whole = '', minutes = '', hemisphere = ''] =
      /^(\d{1,3})(\d\d(?:\.\d{0,12})?),([NSEW])$/i.exec(String(value)) ?? []
    if (whole === '' || Number(minutes) >= 60) return unusable
    const degrees = Number(whole) + Number(minutes) / 60
    const rounded = Math.round(degrees * 1e9) / 1e9
    return /[SW]/i.test(hemisphere) ? -rounded : rounded
  },
}

/** Knots as metres per second. */
export const knots: Conversion = scaled(1_852 / 3_600, 'knots × 0.5144')
