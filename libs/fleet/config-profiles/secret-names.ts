const secretWords = new Set(
  [
    ['password', 'passwords'],
    ['passphrase', 'passphrases'],
    ['passwd', 'passwds'],
    ['psk', 'psks'],
    ['secret', 'secrets'],
    ['token', 'tokens'],
    ['key', 'keys'],
    ['community', 'communities'],
    ['pin', 'pins'],
    ['credential', 'credentials'],
  ].flat(),
)

// In a key written as one word, the ending names the secret. "key" and "pin" alone do not count, as in monkey and spin.
const secretEnding =
  /(?:passwords?|passphrases?|passwds?|psks?|secrets?|tokens?|credentials?|(?:api|auth|private|shared|secret|access|encryption|wep|wpa|ssh|vpn|ssl|tls)keys?|simpins?)$/

// A radio band in a key is ignored: psk5g, password_2.4GHz. The repetitions are bounded, because an unbounded one takes n²
// steps for n digits.
const band = /\d{1,3}(?:\.\d{1,3})?\s{0,3}(?:ghz|g)(?!\p{L})/giu

// PSKs | APIKey → API, Key | wifiPassword → wifi, Password. Digits and separators end a word.
const word = /\p{Lu}{2,}s(?!\p{L})|\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+/gu

/**
 * True when the last word of a settings key names a secret: `wifiPassword`, `PRE-SHARED-KEY`, `snmp_community`, `apiKeys`,
 * `passPhrase`, `WIFIPASSWORD`; but not `keyId` or `monkey`. Takes time linear in the length of the key.
 */
export function namesSecret(key: string): boolean {
  const words = (key.replace(band, ' ').match(word) ?? []).map((one) => one.toLowerCase())
  const last = words.at(-1)
  if (last === undefined) return false
  return secretWords.has(last) || secretWords.has(words.slice(-2).join('')) || secretEnding.test(last)
}
