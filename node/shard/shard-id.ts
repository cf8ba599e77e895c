import type { Brand } from '../../lib/brand.ts'
import { ServiceError } from '../../lib/errors.ts'

/** 16 hexadecimal digits, unique in a cluster; also the name of the shard's store on disk. */
export type ShardId = Brand<string, 'ShardId'>

function isShardId(text: string): text is ShardId {
  return /^[0-9a-f]{16}$/.test(text)
}

export function parseShardId(text: string): ShardId {
  if (!isShardId(text)) throw new ServiceError('INVALID_ARGUMENT', `not a shard id: "${text}"`)
  return text
}
