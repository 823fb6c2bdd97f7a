// The lists of features, as text: a line for each folder that a layer takes something from.

/** A list without what it takes from the folder. */
export function withoutFolder(list: string, folder: string): string {
  const own = new RegExp(`import (?:type )?\\{([^}]*)\\} from '\\./${folder}/[^']*'\\n`, 'g')
  const names = [...list.matchAll(own)].flatMap(([, inner = '']) =>
    inner
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  )
  const rest = list.replace(own, '')
  return names.reduce(
    (text, name) => text.replace(new RegExp(`(\\.\\.\\.)?\\b${name}\\b,?[ ]?`, 'g'), ''),
    rest,
  )
}
