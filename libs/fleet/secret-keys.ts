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

// PSKs | APIKey → API, Key | wifiPassword → wifi, Password. Digits and separators end a word and are none themselves.
const word = /\p{Lu}{2,}s(?!\p{L})|\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+/gu

/**
 * True when the last word of a settings key says that its value is a secret: `wifiPassword`, `PRE-SHARED-KEY`,
 * `snmp_community`, `apiKeys`; but not `keyId` or `monkey`.
 */
export function namesSecret(key: string): boolean {
  const lastWord = key.match(word)?.at(-1)
  return lastWord !== undefined && secretWords.has(lastWord.toLowerCase())
}
