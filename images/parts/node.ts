// Node itself, as package-lock.json brings it: the program alone.

import { existsSync } from 'node:fs'
import path from 'node:path'
import { ServiceError } from '../../lib/errors.ts'
import { entryOf, type ImageEntry } from '../files/entries.ts'
import type { Platform } from './platform.ts'

export function filesOfNode(root: string, { node, name }: Platform): readonly ImageEntry[] {
  const folder = path.join(root, 'node_modules', node)
  const file = path.join(folder, 'bin/node')
  if (!existsSync(file)) {
    throw new ServiceError('NOT_FOUND', `no Node for ${name}: install ${node} in this checkout`)
  }
  return [
    entryOf('usr/local/bin/node', file),
    entryOf('usr/share/doc/node/LICENSE', path.join(folder, 'LICENSE')),
  ]
}
