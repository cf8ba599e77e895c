import type { Env } from '../../../lib/env.ts'
import { parseReferences, referenceText } from '../config/references.ts'
import type { TextPiece } from '../config/references.ts'
import { unavailable } from '../contract/provider-error.ts'
import type { KeySeal } from './key-seal.ts'
import type { SecretSource } from './secret-source.ts'
import { isGranted, isSecretGranted } from './variable-grants.ts'
import type { VariableGrant, VariableUse } from './variable-grants.ts'

/** The environment and the secrets of the node. */
export interface ReferenceSources {
  readonly env: Env
  readonly secrets: SecretSource
  readonly variables?: readonly VariableGrant[]
  readonly seal?: KeySeal
}

/** Shorter ones would make a message unreadable, and protect nothing. */
const REDACTED_CHARS_MIN = 4
const REDACTED = '[secret]'

/**
 * The texts of one call, resolved. It remembers what must not be shown: everything that came from a
 * reference, and every key.
 */
export class ResolvedTexts {
  readonly #sources: ReferenceSources
  readonly #hidden = new Set<string>()

  constructor(sources: ReferenceSources) {
    this.#sources = sources
  }

  /** The text without references. Rejects with the reference's name if one leads to nothing. */
  async resolve(text: string, where: string, use: VariableUse = {}): Promise<string> {
    const parts: string[] = []
    for (const piece of parseReferences(text, where)) {
      parts.push(await this.#resolvePiece(piece, where, use))
    }
    return parts.join('')
  }

  /** A variable that stands in for an absent field; undefined if it is not set. */
  variable(name: string): string | undefined {
    const value = this.#sources.env[name]
    return value === '' ? undefined : value
  }

  /** Keeps a text out of messages. */
  hide(text: string): void {
    if (text.length >= REDACTED_CHARS_MIN) this.#hidden.add(text)
  }

  /** The message without what is hidden, also where it is encoded for a URL or in JSON. */
  redact(message: string): string {
    let shown = message
    for (const hidden of [...this.#hidden].toSorted((a, b) => b.length - a.length)) {
      for (const form of [
        hidden,
        encodeURIComponent(hidden),
        JSON.stringify(hidden).slice(1, -1),
      ]) {
        shown = shown.replaceAll(form, REDACTED)
      }
    }
    return shown
  }

  async #resolvePiece(piece: TextPiece, where: string, use: VariableUse): Promise<string> {
    if (piece.kind === 'literal') return piece.text
    if (piece.kind === 'sealed') return this.#opened(piece.sealed, where)
    const value =
      piece.kind === 'variable'
        ? this.#granted(piece.name, use)
        : await this.#secret(piece.name, use)
    // One message, whether the variable is not set or not theirs: nobody finds out which variables there are.
    if (value === undefined || value === '') {
      const remedy =
        piece.kind === 'secret'
          ? 'add the secret to the node'
          : "set it in the node's environment, and name it in the node's provider variables"
      throw unavailable(`${where}: ${referenceText(piece)} has no value; ${remedy}`)
    }
    this.hide(value)
    return value
  }

  #opened(sealed: string, where: string): string {
    const key = this.#sources.seal?.open(sealed)
    if (key === undefined) {
      throw unavailable(
        `${where}: no secret of this node opens the key; accept the secret again by which it was sealed, or create the index again`,
      )
    }
    this.hide(key)
    return key
  }

  async #secret(name: string, use: VariableUse): Promise<string | undefined> {
    const { secrets, variables = [] } = this.#sources
    if (!isSecretGranted(name, variables, use)) return undefined
    return (await secrets.find(name)) ?? this.#granted(variableOf(name), use)
  }

  #granted(name: string, use: VariableUse): string | undefined {
    const { env, variables = [] } = this.#sources
    return isGranted(name, variables, use) ? env[name] : undefined
  }
}

/** The variable of a secret that has no file: of `openai.api_key` it is OPENAI_API_KEY. */
function variableOf(name: string): string {
  return name.toUpperCase().replaceAll(/[.-]/g, '_')
}
