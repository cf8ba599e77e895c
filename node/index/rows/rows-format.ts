// The files of an index whose documents have rows. Format: docs/reference/formats/vector-segment.md. The table of each segment has the
// sums of what else the manifest does not name.

import { crc32 } from 'node:zlib'
import type { ListedSegment, SegmentFormat } from '../segments/segment-format.ts'
import { VECTOR_NOUN, type FileSum } from './file-sums.ts'

/** A segment of a checkpoint. Its kind adds what else it has files of. */
export interface ListedRows extends ListedSegment {
  readonly rows: FileSum
  /** Absent if no document was deleted from it. */
  readonly deleted?: DeletedFile
}

/** The file that names the documents deleted from a segment. */
export interface DeletedFile extends FileSum {
  readonly generation: number
}

/** What the table's rows are, by the endings of files beside it. Vectors of other settings are another index. */
export interface RowsFileNames<Listed extends ListedRows> {
  readonly settings: object
  readonly endings: readonly string[]
  endingsOf(listed: Listed): readonly string[]
}

const TABLE_ENDING = 'rows'

export function rowsFormat<Listed extends ListedRows>(
  names: RowsFileNames<Listed>,
): SegmentFormat<Listed> {
  return {
    noun: VECTOR_NOUN,
    head: { settings: names.settings },
    endings: [TABLE_ENDING, ...names.endings],
    endingsOf: (listed) => [TABLE_ENDING, ...names.endingsOf(listed)],
    generationOf: ({ deleted }) => deleted?.generation ?? 0,
    printDeleted: ({ buffer, byteOffset, byteLength }) => {
      return new Uint8Array(buffer, byteOffset, byteLength)
    },
    withDeleted(listed, generation, bytes) {
      return { ...listed, deleted: { generation, bytes: bytes.length, sum: crc32(bytes) } }
    },
    parseDeleted(bytes, { deleted }) {
      if (bytes.length !== deleted?.bytes || crc32(bytes) !== deleted.sum) return undefined
      return new Uint32Array(Uint8Array.from(bytes).buffer, 0, bytes.length >>> 2)
    },
  }
}
