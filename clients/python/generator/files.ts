import { document } from '../../typescript/document.ts'
import type { Document } from './operation.ts'
import { operationsModule } from './operations-module.ts'
import { typesModule } from './types-module.ts'

const note = '# Generated from the OpenAPI document by `npm run generate` in clients/typescript. Do not edit.'

const typesHead = [
  '"""The types of requests and responses: dictionaries with the members that the API reference names."""',
  '',
  note,
  '',
  'from typing import Any, Literal',
  '',
  'from typing_extensions import NotRequired, TypeAlias, TypedDict',
]

const operationsHead = (isAsync: boolean): string[] => [
  note,
  '',
  'from __future__ import annotations',
  '',
  'from collections.abc import Sequence',
  'from datetime import datetime',
  'from typing import Any, Literal, overload',
  '',
  'from . import types',
  ...(isAsync
    ? ['from ._async_requests import AsyncRequests', 'from ._call import Call, segment']
    : ['from ._call import Call, segment']),
  ...(isAsync ? ['from ._download import AsyncDownload'] : ['from ._download import Download']),
  ...(isAsync
    ? ['from ._listing import AsyncListing']
    : ['from ._listing import Listing', 'from ._requests import Requests']),
  '',
  '',
  isAsync ? 'class AsyncOperations(AsyncRequests):' : 'class Operations(Requests):',
  '    """One method for each operation of the API."""',
]

/** The generated modules: their paths in `src/routerfleet`, and their text. */
export function generatedFiles(): Record<string, string> {
  const api = document as unknown as Document
  const text = (...lines: string[]) => `${lines.join('\n')}\n`
  return {
    'types.py': text(...typesHead, ...typesModule(api)),
    '_operations.py': text(...operationsHead(false), ...operationsModule(api, 'sync')),
    '_async_operations.py': text(...operationsHead(true), ...operationsModule(api, 'async')),
  }
}
