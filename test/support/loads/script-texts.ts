// Words, values and keys as people of many scripts write them, each by a number: the same number is the
// same text in every run, and two numbers are two texts. Random tests draw numbers.

import type { Random } from '../../../lib/random.ts'

/** Ten letters, or syllables, of each script. No folding changes them, and they make no stop words. */
const LETTERS = {
  Latin: 'w b r k m q s z v h',
  Cyrillic: 'я а в п д ж ш щ ы э',
  Greek: 'ω α β γ δ κ λ μ π φ',
  Arabic: 'ب ت ث ج ح د ر س ل م',
  Hebrew: 'א ב ג ד ה ז ח ט ל מ',
  Devanagari: 'क की खि ग चे जु ट त्र न मो',
  Armenian: 'ա բ գ դ ե զ է ը թ ժ',
  Georgian: 'ა ბ გ დ ე ვ ზ თ ი კ',
  Hangul: '가 나 다 라 마 바 사 아 힣 핫',
  Tamil: 'க கி கு ச டி த நா ப ம வெ',
  Deseret: '𐐨 𐐩 𐐪 𐐫 𐐬 𐐭 𐐮 𐐯 𐐰 𐐱',
  Ethiopic: 'ሀ ለ ሐ መ ሠ ረ ሰ ሸ ቀ በ',
} as const

export type ScriptName = keyof typeof LETTERS

export const SCRIPTS: readonly (readonly string[])[] = Object.values(LETTERS).map((all) =>
  all.split(' '),
)

/** Signs, half of pairs that look alike, and words of scripts without spaces: for values and keys. */
const ODD = [
  'é',
  'e\u0301',
  'Ａ',
  '\ue000',
  '\ufb01',
  '\uffff',
  '\u{10000}',
  '\u{1f600}',
  '\u{1f469}\u200d\u{1f52c}',
  '\u{10ffff}',
  'ราคา',
  'សួស្តី',
  '京都',
  '中国',
  '一',
  'ケース',
  'ｹｰｽ',
  'ひらがな',
  '\u007f',
  '~',
  '\u0080',
  'İ',
  'ß',
] as const

/** A word: letters of one script, and one token of most analyzers. Many are prefixes of others. */
export function wordOf(number: number): string {
  const letters = SCRIPTS[number % SCRIPTS.length] ?? []
  const digits = String(Math.floor(number / SCRIPTS.length))
  return Array.from(digits, (digit) => letters[Number(digit)] ?? '').join('')
}

/** A text for a key or a whole value. Many are prefixes of others. */
export function valueOf(number: number): string {
  const half = Math.floor(number / 2)
  if (number % 2 === 0) return wordOf(half)
  const odd = ODD[half % ODD.length] ?? ''
  const rest = Math.floor(half / ODD.length)
  return rest === 0 ? odd : odd + valueOf(rest - 1)
}

/** The order of the bytes of UTF-8. */
export function compareUtf8(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

/** Characters of everywhere, for tests that need no words: of one, two, three and four bytes. */
export function randomText(random: Random, lengthMax: number): string {
  const length = Math.floor(random() * (lengthMax + 1))
  return Array.from({ length }, () => {
    const kind = Math.floor(random() * 8)
    if (kind === 0) return ODD[Math.floor(random() * ODD.length)] ?? ''
    if (kind < 4) return wordOf(Math.floor(random() * SCRIPTS.length * 10))
    const [from, to] = RANGES[Math.floor(random() * RANGES.length)] ?? [0, 1]
    return String.fromCodePoint(from + Math.floor(random() * (to - from)))
  }).join('')
}

/** Where orders of units, of characters and of bytes part. */
const RANGES: readonly (readonly [number, number])[] = [
  [0, 0x80],
  [0x7c, 0x84],
  [0x80, 0x800],
  [0x7fe, 0x802],
  [0x800, 0xd800],
  [0xd7fe, 0xd800],
  [0xe000, 0x1_0000],
  [0xfffe, 0x1_0002],
  [0x1_0000, 0x11_0000],
]
