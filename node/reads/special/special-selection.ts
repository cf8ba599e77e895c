// Which special members of documents a projection asks for, and what is left of it for the bodies.
//
// `_embeddings` and `_chunks` are answered only to those who name them, and so is `_summaries`. A path names the
// member, perhaps one index of it (or `*`), and perhaps something inside. Exclusions take away again.

import type { FieldPath } from '../../document/field-path.ts'
import { buildPathSet, type PathSet, type Projection } from '../../document/projection.ts'
import { SPECIAL_NAMES } from '../../document/special-names.ts'

/** A projection in two parts. */
export interface SplitProjection {
  /** The part about the body. */
  readonly body: Projection
  /** The part about special members. Undefined: none was asked for. */
  readonly special: Projection | undefined
}

const NOTHING: Projection = {
  included: buildPathSet([]),
  excluded: buildPathSet([{ text: '*', segments: ['*'] }]),
}

export function splitProjection({ included, excluded }: Projection): SplitProjection {
  const wanted = included.paths.filter(isSpecial)
  if (wanted.length === 0) return { body: { included, excluded }, special: undefined }
  const onlySpecial = wanted.length === included.paths.length
  return {
    body: onlySpecial ? NOTHING : { included: others(included), excluded: others(excluded) },
    special: {
      included: buildPathSet(wanted),
      excluded: buildPathSet(excluded.paths.filter(isSpecial)),
    },
  }
}

function others({ paths }: PathSet): PathSet {
  return buildPathSet(paths.filter((path) => !isSpecial(path)))
}

function isSpecial({ segments: [first] }: FieldPath): boolean {
  return SPECIAL_NAMES.some((name) => name === first)
}
