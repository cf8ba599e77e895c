// The longest step of compiling hostile templates, and of the dearest that are taken.

import { expect } from 'chai'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { compileTemplate, TEMPLATE_LENGTH_MAX } from '../../../../node/template/compile-template.ts'
import { longestStepAtBestMs } from '../../../support/slices/step-time.ts'

/** Handlebars' parser reads a template in one step of at most 7 ms; on a busy machine it may take longer. */
const STEP_MS_MAX = 9

describe('compiling', () => {
  const hostile: Readonly<Record<string, string>> = {
    'open calls': `{{eq ${'(eq a '.repeat(300)}`,
    'blocks in a row': '{{#if a}} {{/if}}\n',
    words: `{{eq ${'a.b.c.d '.repeat(100)}}}`,
    'white space': '{{#if a}}\n \n \n \n \n \n{{/if}}',
    braces: '{ {',
    backslashes: '\\\\{{a}}\\{{',
    else: '{{#if a}}{{else}}{{/if}}',
    comments: '{{!-- {{! --}}',
    'a tag that does not end': '{{a                                   ',
  }
  for (const [what, unit] of Object.entries(hostile)) {
    it(`takes short steps: ${what}`, () => {
      const source = unit
        .repeat(Math.ceil(TEMPLATE_LENGTH_MAX / unit.length))
        .slice(0, TEMPLATE_LENGTH_MAX)

      const work = () => compileTemplate(source)

      expect(longestStepAtBestMs(work, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
    })
  }

  const dear: Readonly<Record<string, readonly [unit: string, rest?: string]>> = {
    tags: ['{{a}}'],
    'tags and text': ['{{~a~}} \n '],
    names: ['{{a.b.c.d.e.f.g}}'],
    calls: ['{{eq (eq a b) (eq a b)}}'],
    conditions: ['{{#if a}}b{{else if c}}d{{else}}e{{/if}}\n'],
    'deep conditions': [`${'{{#if a}}'.repeat(20)} ${'{{/if}}'.repeat(20)}`],
    'names in brackets': ['{{[a]}}'],
    'names in brackets in a long text': ['{{[a]}}', 'x'.repeat(60_000)],
    'comments in a long text': ['{{!----}}', 'x'.repeat(60_000)],
    'white space': [`{{#if a}}${' \n'.repeat(30)}{{/if}}`],
  }
  for (const [what, [unit, rest = '']] of Object.entries(dear)) {
    it(`takes short steps for as much as is taken: ${what}`, () => {
      const source = `${unit.repeat(mostOf(unit, rest))}${rest}`

      const work = () => compileTemplate(source)

      expect(longestStepAtBestMs(work, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
    })
  }
})

/** How often the unit compiles in one template, less a tenth at most. */
function mostOf(unit: string, rest: string): number {
  let count = 3000
  while (!doesCompile(`${unit.repeat(count)}${rest}`)) count = Math.floor(count * 0.9)
  expect(count).to.be.greaterThan(0)
  return count
}

function doesCompile(source: string): boolean {
  try {
    runAtOnce(compileTemplate(source))
    return true
  } catch {
    return false
  }
}
