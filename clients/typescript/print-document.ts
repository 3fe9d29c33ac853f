import { document } from './document.ts'

// Prints the OpenAPI document without a running service, for linters.
process.stdout.write(`${JSON.stringify(document)}\n`)
