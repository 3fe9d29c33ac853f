import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newOpenwrtRouter, type OpenwrtRouter, openwrtMissing } from '#test/openwrt-router'
import { until } from '#test/until'

/** How the service answers a report. `lost`: it has the report, and the answer does not arrive. `cut`: it does not get it. */
type Answer = number | 'lost' | 'cut'

/** Jobs with a service that loses and refuses reports. As the real one, it delivers a job until it has a report of it. */
describe('jobs of the OpenWrt agent', () => {
  let server: Server
  let router: OpenwrtRouter
  let job: { id: string; attempt: number; kind: string } | undefined
  let answers: Answer[] = []
  let reports: string[] = []

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      if (request.method === 'GET') return response.writeHead(job ? 200 : 204).end(job && JSON.stringify(job))
      const text = await new Response(request as never).text()
      const answer = answers.shift() ?? 200
      if (answer === 'cut') return request.socket.destroy()
      reports.push(`${JSON.parse(text).status} ${answer}`)
      if (answer === 401 || answer === 402 || answer === 403) return response.writeHead(answer).end('{}')
      job = undefined
      if (answer === 'lost') return request.socket.destroy()
      response.writeHead(answer).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => server?.close())

  beforeEach(({ skip }) => {
    if (openwrtMissing) return skip(openwrtMissing)
    job = { id: 'j', attempt: 1, kind: 'reboot' }
    answers = []
    reports = []
    router = newOpenwrtRouter({
      SERVICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      SERIAL: 'WRT',
      REBOOT_WAIT: '0',
    })
    router.command('reboot', 'echo reboot >> "$ROUTER/calls"')
  })
  afterEach(() => router?.remove())

  /** Takes a job once, or reports what the last turn left. Returns 0 if the next turn may follow at once. */
  async function turn(): Promise<number> {
    const done = join(router.folder, 'done')
    rmSync(done, { force: true })
    const script = join(router.folder, 'turn.sh')
    const sources = ['base', 'buffer', 'jobs', 'config', 'reported-config', 'firmware'].map(
      (name) => `. "$LIB_DIR/${name}.sh"`,
    )
    writeFileSync(
      script,
      [...sources, 'take_job 0', 'echo $? >"$ROUTER/done.new"', 'mv "$ROUTER/done.new" "$ROUTER/done"'].join('\n'),
    )
    router.startScript(script, [])
    await until('the turn has ended', async () => existsSync(done))
    return Number(readFileSync(done, 'utf8'))
  }

  test.each([
    ['lost', ['inProgress lost', 'succeeded 200']],
    ['cut', ['succeeded 200']],
    [503, ['inProgress 503', 'succeeded 200']],
  ] as const)('a job runs once when the first report is answered with %s', async (answer, expected) => {
    answers = [answer]
    expect(await turn()).toBe(0)
    router.boot()
    expect(await turn()).toBe(0)
    expect(await turn()).toBe(0)
    expect(router.lines('calls')).toEqual(['reboot'])
    expect(reports).toEqual(expected)
  })

  test.each([400, 404, 409])('a job that the service refuses with %i does not run', async (status) => {
    answers = [status]
    expect([await turn(), await turn()]).toEqual([0, 0])
    expect(router.lines('calls')).toEqual([])
    expect(reports).toEqual([`inProgress ${status}`])
  })

  test.each([401, 402, 403])('after %i, a job waits until the router may report', async (status) => {
    answers = [status]
    expect(await turn()).toBe(1)
    expect(router.lines('calls')).toEqual([])
    expect(await turn()).toBe(0)
    expect(router.lines('calls')).toEqual(['reboot'])
    expect(reports).toEqual([`inProgress ${status}`, 'inProgress 200'])
  })

  test('a job whose state cannot be stored does not run', async () => {
    router.run('mkdir "$RECORD.new"')
    expect(await turn()).toBe(0)
    expect(router.lines('calls')).toEqual([])
    expect(reports).toEqual(['failed 200'])
  })
})
