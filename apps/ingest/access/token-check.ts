import type { EdgeRoute } from '../app.ts'
import type { DeviceAccess } from './device-access.ts'
import type { FailedAuthentications } from './failed-authentications.ts'

export type TokenCheckParts = { access: DeviceAccess; failedAuthentications: FailedAuthentications }

/**
 * What the control plane asks before it reads the body of a request that it will pass on: 204 for a good device token,
 * else 401, 429 or 503. Not part of the contract.
 */
export const tokenCheckRoute = ({ access, failedAuthentications }: TokenCheckParts): EdgeRoute => ({
  method: 'GET',
  path: '/device/token',
  handle: async (_request, { incoming }) => {
    try {
      await access.authenticate(incoming.headers.authorization)
      return new Response(null, { status: 204 })
    } catch (error) {
      await failedAuthentications.count(incoming, error)
      throw error
    }
  },
})
