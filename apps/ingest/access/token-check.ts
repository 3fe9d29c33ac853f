import type { EdgeRoute } from '../http/app.ts'
import { type AdmissionParts, authenticateDevice } from './admission.ts'

type TokenCheckParts = Pick<AdmissionParts, 'access' | 'failedAuthentications'>

/**
 * Returns 204 for a valid device token, otherwise 401, 429 or 503. The control plane calls it before it reads the body of
 * a request that it forwards. It is not part of the contract.
 */
export const tokenCheckRoute = (parts: TokenCheckParts): EdgeRoute => ({
  method: 'GET',
  path: '/device/token',
  handle: async (_request, { incoming }) => {
    await authenticateDevice(parts, incoming)
    return new Response(null, { status: 204 })
  },
})
