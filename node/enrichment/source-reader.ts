// Reads what an index embeds of a document.

import { unreachable } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { parseInPartsWithout } from '../document/exact-json-parts.ts'
import { parseJsonPath, textAtJsonPath, type JsonPath } from '../document/json-path.ts'
import { kindAt } from '../document/json-scanner.ts'
import { readLongString } from '../document/long-string.ts'
import { WHOLE_DOCUMENT, type EmbeddedPart } from '../embedding/managed-settings.ts'
import { RENDER_LIMITS_DEFAULT } from '../template/render-budget.ts'
import { renderTemplate } from '../template/render-template.ts'
import type { TemplateCache } from '../template/template-cache.ts'
import type { SourcePart } from './enrichment.ts'

/** The store writes it with every version, also where nothing else has changed. */
const TIMESTAMP_FIELD = '_timestamp'

/** Answers the parts of one document, which is compact JSON. INVALID_ARGUMENT for one that has none of the kind. */
export type SourceReader = (document: Buffer) => Sliced<readonly SourcePart[]>

/** The reader for what the settings say. INVALID_ARGUMENT for a path that does not parse. */
export function buildSourceReader(source: EmbeddedPart, templates: TemplateCache): SourceReader {
  switch (source.kind) {
    case 'field': {
      const path = parseJsonPath(source.path, 'field')
      return (document) => readField(document, path, source.path)
    }
    case 'template':
      return (document) => rendered(document, source.template, templates)
    case 'document':
      return (document) => rendered(document, WHOLE_DOCUMENT, templates)
    default:
      return unreachable(source)
  }
}

function* readField(document: Buffer, path: JsonPath, text: string): Sliced<readonly SourcePart[]> {
  const value = yield* textAtJsonPath(document, path)
  const kind = value === undefined ? 'null' : kindAt(value, 0)
  if (value === undefined || kind === 'null') return []
  if (kind !== 'string') {
    const found = kind === 'true' || kind === 'false' ? 'boolean' : kind
    throw new ServiceError('INVALID_ARGUMENT', `field "${text}" must be a string, not ${found}`)
  }
  return filled([{ kind: 'text', text: yield* readLongString(value) }])
}

/** A template reads the document as it was written: `{{title}}` is its title. */
function* rendered(
  document: Buffer,
  template: string,
  templates: TemplateCache,
): Sliced<readonly SourcePart[]> {
  const compiled = yield* templates.get(template)
  const context = yield* parseInPartsWithout(document, TIMESTAMP_FIELD)
  return filled(yield* renderTemplate(compiled, context, RENDER_LIMITS_DEFAULT))
}

/** White space alone is nothing to embed: some models refuse it, and others answer any vector. */
function filled(parts: readonly SourcePart[]): readonly SourcePart[] {
  return parts.filter((part) => part.kind !== 'text' || part.text.trim() !== '')
}
