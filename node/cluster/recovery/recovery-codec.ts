// How what nodes know of a control plane is kept as JSON, on their disks and in the control plane.

import type { ServiceError } from '../../../lib/errors.ts'
import { isText, isWhole, parseJsonRecord } from '../../../lib/json-record.ts'
import {
  decodeConfiguration,
  encodeConfiguration,
} from '../../controller/core/records/cluster-codec.ts'
import type { ShardConfiguration } from '../../replication/core/configuration.ts'

const FORMAT = 1

type Members = Readonly<Record<string, unknown>>

/** A configuration outside of its own key: the revision that it had there stands beside its text. */
export interface StoredConfiguration {
  readonly revision: number
  readonly configuration: string
}

export function encodeStored(members: object): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, ...members }))
}

/** Throws what `damaged` makes for bytes of another form. */
export function decodeStored(bytes: Buffer, damaged: () => ServiceError): Members {
  const record = parseJsonRecord(bytes)
  if (record?.['format'] !== FORMAT) throw damaged()
  return record
}

export function storedConfiguration(configuration: ShardConfiguration): StoredConfiguration {
  return {
    revision: configuration.revision,
    configuration: encodeConfiguration(configuration).toString(),
  }
}

/** Throws what `damaged` makes for members of other types. */
export function configurationIn(
  { revision, configuration }: Members,
  damaged: () => ServiceError,
): ShardConfiguration {
  if (!isWhole(revision) || !isText(configuration)) throw damaged()
  return decodeConfiguration(Buffer.from(configuration), revision)
}
