// References in configurations: `${VARIABLE}` is a variable of the node's environment, `${secret:name}` a
// secret of the node. A configuration is kept with its references, and each use resolves them again. A key that was
// written itself is kept as `${sealed:…}` (access/key-seal.ts), which no client writes.

import { ServiceError } from '../../../lib/errors.ts'

/** What a configured text is made of. */
export type TextPiece =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'secret'; readonly name: string }
  | { readonly kind: 'sealed'; readonly sealed: string }

const REFERENCE = /\$\{([^}]*)\}/g
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/
const SEALED = /^sealed:([A-Za-z0-9_-]+)$/
const SECRET = /^secret:([A-Za-z0-9._-]{1,253})$/

/** Names of files that a directory always has. */
const NO_SECRETS: ReadonlySet<string> = new Set(['.', '..'])

/** The pieces of a text. Throws INVALID_ARGUMENT, naming the field, for a malformed reference. */
export function parseReferences(text: string, where: string): readonly TextPiece[] {
  const pieces: TextPiece[] = []
  let end = 0
  for (const found of text.matchAll(REFERENCE)) {
    const [whole, inside = ''] = found
    if (found.index > end) pieces.push({ kind: 'literal', text: text.slice(end, found.index) })
    pieces.push(parseInside(inside, where))
    end = found.index + whole.length
  }
  const rest = text.slice(end)
  if (rest.includes('${')) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `${where}: a reference that begins with "\${" has no "}"`,
    )
  }
  if (rest !== '' || pieces.length === 0) pieces.push({ kind: 'literal', text: rest })
  return pieces
}

function parseInside(inside: string, where: string): TextPiece {
  const name = SECRET.exec(inside)?.[1]
  if (name !== undefined && !NO_SECRETS.has(name)) return { kind: 'secret', name }
  const sealed = SEALED.exec(inside)?.[1]
  if (sealed !== undefined) return { kind: 'sealed', sealed }
  if (VARIABLE.test(inside)) return { kind: 'variable', name: inside }
  // The inside is not shown: somebody may have written a key there.
  const message = `${where}: a reference is \${VARIABLE} or \${secret:name}, and names have letters, digits, "_", and in secrets "." and "-"`
  throw new ServiceError('INVALID_ARGUMENT', message)
}

/** Whether a piece stands for something of the node. */
export function hasReferences(pieces: readonly TextPiece[]): boolean {
  return pieces.some(({ kind }) => kind === 'variable' || kind === 'secret')
}

export function isSealed(pieces: readonly TextPiece[]): boolean {
  return pieces.some(({ kind }) => kind === 'sealed')
}

export function sealedText(sealed: string): string {
  return `\${sealed:${sealed}}`
}

/** As a person wrote it. */
export function referenceText(
  piece: Extract<TextPiece, { readonly kind: 'variable' | 'secret' }>,
): string {
  return piece.kind === 'secret' ? `\${secret:${piece.name}}` : `\${${piece.name}}`
}
