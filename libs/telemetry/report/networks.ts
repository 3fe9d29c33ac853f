import { all } from 'mcc-mnc-list'

const networks = (digits: number): ReadonlySet<string> =>
  new Set(all().flatMap(({ mcc, mnc }) => (mnc?.length === digits ? [`${mcc}${mnc}`] : [])))

/** Networks by the length of their MNC, as MCC and MNC. A few pairs are listed with both lengths. */
const twoDigits = networks(2)
const threeDigits = networks(3)

const countIn = (list: ReadonlySet<string>, mcc: string): number => {
  let count = 0
  for (const plmn of list) if (plmn.startsWith(mcc)) count += 1
  return count
}

/** Countries most of whose networks have three digits. */
const longCountries: ReadonlySet<string> = new Set(
  [...new Set([...threeDigits].map((plmn) => plmn.slice(0, 3)))].filter(
    (mcc) => countIn(threeDigits, mcc) > countIn(twoDigits, mcc),
  ),
)

/**
 * Returns the network of a country code and a network code that came as a number. Its length follows the list of networks; a pair
 * that is not in the list has two digits, or three if the number needs them.
 */
export function plmnOfNumbers(mcc: string, mnc: string): string {
  const [short, long] = [mcc + mnc.padStart(2, '0'), mcc + mnc.padStart(3, '0')]
  return threeDigits.has(long) && !twoDigits.has(short) ? long : short
}

/**
 * Returns the MCC and MNC at the beginning of an IMSI, null if it is none. Where the list has both lengths or none, the length is
 * that of most networks of the country.
 */
export function plmnOfImsi(imsi: string): string | null {
  if (!/^\d{14,15}$/.test(imsi) || imsi.startsWith('000')) return null
  const [short, long] = [imsi.slice(0, 5), imsi.slice(0, 6)]
  if (twoDigits.has(short) !== threeDigits.has(long)) return twoDigits.has(short) ? short : long
  return longCountries.has(imsi.slice(0, 3)) ? long : short
}
