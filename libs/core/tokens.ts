import { createHash, randomBytes } from 'node:crypto'

/** The three token families: integrations' API keys, routers' device tokens, and enrollment keys. */
export type TokenPrefix = 'flk' | 'fld' | 'fle'

export type IssuedToken = { id: string; token: string; hash: Buffer }

const digest = (text: string) => createHash('sha256').update(text).digest()
const checksumOf = (text: string) => digest(text).toString('hex').slice(0, 6)

/** SHA-256 of the whole token; this is what is stored and looked up. */
export const hashToken = (token: string): Buffer => digest(token)

/** The whole token of its parts, for callers that were given id and secret separately (OAuth client credentials). */
export function assembleToken(prefix: TokenPrefix, id: string, secret: string): string {
  const body = `${prefix}_${id}_${secret}`
  return `${body}_${checksumOf(body)}`
}

/**
 * Makes `<prefix>_<id>_<secret>_<checksum>`: id 16 hex digits (public, for logs), secret 64 hex digits
 * (256 bits), checksum 6 hex digits so that a typo is refused without a look-up.
 */
export function issueToken(prefix: TokenPrefix): IssuedToken {
  const id = randomBytes(8).toString('hex')
  const token = assembleToken(prefix, id, randomBytes(32).toString('hex'))
  return { id, token, hash: hashToken(token) }
}

const tokenPattern = /^(flk|fld|fle)_([0-9a-f]{16})_[0-9a-f]{64}_([0-9a-f]{6})$/

/** The token's family and public id, or undefined when its form or checksum is wrong. */
export function parseToken(token: string): { prefix: TokenPrefix; id: string } | undefined {
  const match = tokenPattern.exec(token)
  if (!match?.[1] || !match[2]) return undefined
  const body = token.slice(0, token.lastIndexOf('_'))
  return checksumOf(body) === match[3] ? { prefix: match[1] as TokenPrefix, id: match[2] } : undefined
}
