import { z } from 'zod'

const linkSchema = z.object({ url: z.url(), expiresAt: z.string() })

/** Creates a link that signs one person in to the web page with the scopes of an API key, once and within ten minutes. */
export async function createSignInLink(baseUrl: string, key: string): Promise<z.infer<typeof linkSchema>> {
  const response = await fetch(`${baseUrl.replace(/\/$/, '')}/auth/sign-in-links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  })
  if (!response.ok) throw new Error(`The service refused to create a sign-in link (status ${response.status}).`)
  return linkSchema.parse(await response.json())
}
