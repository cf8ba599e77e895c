// Parses the text in which REBEL models write relations:
//
//   <triplet> head <subj> tail <obj> relation <subj> tail <obj> relation <triplet> head …

export const REBEL_MARKS = ['<triplet>', '<subj>', '<obj>'] as const

/** A relation as the model wrote it. */
export interface Triplet {
  readonly head: string
  readonly tail: string
  readonly relation: string
}

const MARK = /(<triplet>|<subj>|<obj>)/
const SPECIAL = /<\/?s>|<pad>/g

/** The complete triplets of a generated text, each once. */
export function parseTriplets(generated: string): Triplet[] {
  const triplets = new Map<string, Triplet>()
  const parts = { '<triplet>': '', '<subj>': '', '<obj>': '' }
  let mark = ''
  for (const piece of generated.replaceAll(SPECIAL, ' ').split(MARK)) {
    if (isMark(piece)) {
      mark = piece
      continue
    }
    if (!isMark(mark)) continue
    parts[mark] = piece.trim()
    const { '<triplet>': head, '<subj>': tail, '<obj>': relation } = parts
    const isWhole = mark === '<obj>' && head !== '' && tail !== '' && relation !== ''
    if (isWhole) triplets.set(JSON.stringify([head, tail, relation]), { head, tail, relation })
  }
  return [...triplets.values()]
}

function isMark(text: string): text is (typeof REBEL_MARKS)[number] {
  return REBEL_MARKS.some((mark) => mark === text)
}
