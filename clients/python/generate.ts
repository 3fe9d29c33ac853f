import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generatedFiles } from './generator/files.ts'

// Writes the modules of the package that follow from the OpenAPI document.
for (const [name, text] of Object.entries(generatedFiles()))
  writeFileSync(join(import.meta.dirname, 'src/routerfleet', name), text)
