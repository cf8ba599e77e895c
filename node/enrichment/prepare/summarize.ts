// Has a model describe what a document shows, so that a model of texts can embed it.

import type { Generator, PromptPart } from '../../providers/contract/provider.ts'
import { askFairly } from './ask-fairly.ts'

const INSTRUCTION: PromptPart = {
  kind: 'text',
  text:
    'Describe in plain sentences what the following shows or says, so that somebody who looks for it finds it by ' +
    'your words. Name the things, people, places, actions and texts that can be seen or heard. Answer with the ' +
    'description alone.',
}
const HARMLESS: readonly PromptPart[] = [{ kind: 'text', text: 'Answer with the word: yes' }]

/** Whether a summarizer is asked about the parts: texts alone need none. */
export function needsSummary(parts: readonly PromptPart[]): boolean {
  return parts.some(({ kind }) => kind !== 'text')
}

/** The description. Rejects as `askFairly` does. */
export async function summarize(
  generator: Generator,
  parts: readonly PromptPart[],
  signal: AbortSignal,
): Promise<string> {
  const shown = parts.filter((part) => part.kind !== 'text' || part.text.trim() !== '')
  const text = await askFairly(
    () => generator.generate([INSTRUCTION, ...shown], { signal }),
    () => generator.generate(HARMLESS, { signal }),
  )
  return text.trim()
}
