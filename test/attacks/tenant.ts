/** An organization with keys and reporting devices. */
export type Tenant = {
  organizationId: string
  /** A key with all scopes in the organization. */
  adminKey: string
  /** A key with the scopes of a viewer. */
  viewerKey: string
  devices: readonly TenantDevice[]
}

export type TenantDevice = { id: string; token: string }

type Imported = { results: { id: string; token: string }[] }

/** Creates an enterprise organization with devices through the API. Throws if a request fails. */
export async function createTenant(url: string, adminKey: string, name: string, devices: number): Promise<Tenant> {
  const post = async <Body>(path: string, body: string, type = 'application/json'): Promise<Body> => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': type },
      body,
    })
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Body
  }
  const { id } = await post<{ id: string }>('/orgs', JSON.stringify({ name, plan: 'enterprise' }))
  const newKey = (role: string) =>
    post<{ key: string }>(`/orgs/${id}/api-keys`, JSON.stringify({ name: role, role })).then(({ key }) => key)
  const rows = Array.from({ length: devices }, (_, index) =>
    JSON.stringify({ serial: `${name}-${index}`, name: `${name} ${index}`, model: 'RX400' }),
  )
  const importPath = `/devices/import?orgId=${id}&tokens=true`
  const { results } =
    devices === 0 ? { results: [] } : await post<Imported>(importPath, rows.join('\n'), 'application/x-ndjson')
  return {
    organizationId: id,
    adminKey: await newKey('admin'),
    viewerKey: await newKey('viewer'),
    devices: results.map(({ id, token }) => ({ id, token })),
  }
}
