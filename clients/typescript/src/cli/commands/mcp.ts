import { once } from 'node:events'
import type { Command } from 'commander'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { openSession, type Session } from '../session.ts'

type McpOptions = { http?: string; host: string; allowWrites?: true }

/** `mcp`. */
export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('Serve tools for assistants with the Model Context Protocol, on the standard input and output.')
    .option('--http <port>', 'serve HTTP at this port instead; callers send their own API key')
    .option('--host <address>', 'with --http: the address to listen on', '127.0.0.1')
    .option('--allow-writes', 'also offer the tools that change something, after a plan and a confirmation')
    .action(serve)
}

async function serve({ http, host, allowWrites = false as true }: McpOptions, command: Command): Promise<void> {
  const { createMcpServer, createConfirmations, serveHttp, StdioServerTransport } = await loadServer()
  const version = command.parent?.version() ?? ''
  const confirmations = createConfirmations()
  const serverOf = (session: Session) => createMcpServer({ session, confirmations, version, allowWrites })
  if (http === undefined) {
    const transport = new StdioServerTransport()
    const server = serverOf(openSession(command))
    await server.connect(transport)
    return
  }
  // Throws without the address of a service.
  openSession(command, '')
  const { server, url } = await serveHttp({
    host,
    port: portOf(http),
    serverFor: (key) => serverOf(openSession(command, key)),
  })
  process.stderr.write(`Listening on ${url}\n`)
  await once(server, 'close')
}

function portOf(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new CommandError(`--http must be a port, got ${text}.`, exitCodes.usage)
}

/** Loads the server only for this command: its packages are optional. */
async function loadServer() {
  try {
    const [{ createMcpServer }, { createConfirmations }, { serveHttp }, { StdioServerTransport }] = await Promise.all([
      import('../../mcp/server.ts'),
      import('../../mcp/confirmations.ts'),
      import('../../mcp/http-server.ts'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
    ])
    return { createMcpServer, createConfirmations, serveHttp, StdioServerTransport }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CommandError(
      'This command needs the packages @modelcontextprotocol/sdk and zod. Install @routerfleet/client with its optional dependencies.',
    )
  }
}
