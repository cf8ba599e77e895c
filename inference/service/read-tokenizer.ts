// Reads the tokenizer of a model directory. Its files are not trusted, so their sizes are checked
// before they are read.

import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { ServiceError } from '../../lib/errors.ts'
import { TOKENIZER_CONFIG_BYTES_MAX, TOKENIZER_JSON_BYTES_MAX } from '../text/tokenizer-file.ts'
import { openTokenizer } from '../text/tokenizer-handle.ts'
import type { TokenizerHandle } from '../text/tokenizer-handle.ts'

/** Rejects with INVALID_ARGUMENT when the tokenizer is missing, too large or not supported. */
export async function readTokenizer(directory: string): Promise<TokenizerHandle> {
  const tokenizerJson = await readBounded(directory, 'tokenizer.json', TOKENIZER_JSON_BYTES_MAX)
  if (tokenizerJson === undefined) throw refuse('tokenizer.json is missing')
  const configFile = 'tokenizer_config.json'
  const tokenizerConfig = await readBounded(directory, configFile, TOKENIZER_CONFIG_BYTES_MAX)
  return openTokenizer({ tokenizerJson, tokenizerConfig })
}

/**
 * Undefined: the file does not exist. Only regular files are read, because a named pipe might never
 * end.
 */
async function readBounded(
  directory: string,
  name: string,
  bytesMax: number,
): Promise<string | undefined> {
  const file = path.join(directory, name)
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new ServiceError('INVALID_ARGUMENT', `${name} cannot be read: ${error.code}`, {
      cause: error,
    })
  })
  if (found === undefined) return undefined
  if (!found.isFile()) throw refuse(`${name} is not a regular file`)
  if (found.size > bytesMax) throw refuse(`${name} is larger than ${bytesMax} bytes`)
  return readFile(file, 'utf8')
}

function refuse(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', problem)
}
