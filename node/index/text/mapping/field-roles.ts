// What the name of a field says about a match in it: a field of names or titles tells what the document is called.

/** The weight of a field of names; other fields have 1. */
export const NAME_WEIGHT = 2
/** The weight of a field like `author.name` or `full_name`: the name of a part of the document, or one of several. */
const PART_NAME_WEIGHT = Math.sqrt(NAME_WEIGHT)

/** Words for names and titles, in lower case. */
const NAMES: ReadonlySet<string> = new Set(
  [
    'name title label headline heading subject caption',
    'titel bezeichnung überschrift betreff naam namn navn tittel rubrik nimi otsikko',
    'nom titre intitulé libellé nombre título titulo asunto nome assunto titolo nume titlu',
    'nazwa tytuł název jméno nadpis név cím isim adı başlık tên nama judul',
    'название имя заголовок наименование назва όνομα τίτλος',
    'اسم عنوان نام שם כותרת नाम शीर्षक ชื่อ',
    '名称 名稱 名字 标题 標題 题目 名前 題名 件名 タイトル 이름 제목 명칭',
  ].flatMap((words) => words.split(' ')),
)
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}]+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u

/** Whether the field, by its dotted path, holds what the whole document is called. */
export function isName(path: string): boolean {
  return NAMES.has(path.normalize('NFC').toLowerCase())
}

export function weightByName(path: string): number {
  if (isName(path)) return NAME_WEIGHT
  const last = path.normalize('NFC').split(BETWEEN_WORDS).at(-1) ?? ''
  return NAMES.has(last.toLowerCase()) ? PART_NAME_WEIGHT : 1
}
