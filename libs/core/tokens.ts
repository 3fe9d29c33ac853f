import { createHash, randomBytes } from 'node:crypto'

/**
 * The kinds of tokens: API keys of integrations, device tokens of routers, enrollment keys, the links and cookies with
 * which people sign in, the links with which they confirm an address for alerts, and those of invitations.
 */
type TokenPrefix = 'flk' | 'fld' | 'fle' | 'fll' | 'fls' | 'fla' | 'fli'

type IssuedToken = { id: string; token: string; hash: Buffer }

const digest = (text: string) => createHash('sha256').update(text).digest()
const checksumOf = (text: string) => digest(text).toString('hex').slice(0, 6)

/** SHA-256 of the whole token. Only the hash is stored. */
export const hashToken = (token: string): Buffer => digest(token)

/** Builds a token from id and secret, for callers that send them separately (OAuth client credentials). */
export function assembleToken(prefix: TokenPrefix, id: string, secret: string): string {
  const body = `${prefix}_${id}_${secret}`
  return `${body}_${checksumOf(body)}`
}

/**
 * Creates a token `<prefix>_<id>_<secret>_<checksum>`: the public id has 16 hex digits, the secret 64 (256 bits), and the
 * checksum 6, so that a typo is refused without a database query.
 */
export function issueToken(prefix: TokenPrefix): IssuedToken {
  const id = randomBytes(8).toString('hex')
  const token = assembleToken(prefix, id, randomBytes(32).toString('hex'))
  return { id, token, hash: hashToken(token) }
}

const tokenPattern = /^(flk|fld|fle|fll|fls|fla|fli)_([0-9a-f]{16})_[0-9a-f]{64}_([0-9a-f]{6})$/

/** Returns the kind and the public id of a token, or undefined when its form or checksum is wrong. */
export function parseToken(token: string): { prefix: TokenPrefix; id: string } | undefined {
  const match = tokenPattern.exec(token)
  if (!match?.[1] || !match[2]) return undefined
  const body = token.slice(0, token.lastIndexOf('_'))
  return checksumOf(body) === match[3] ? { prefix: match[1] as TokenPrefix, id: match[2] } : undefined
}
