// Runs in the page: draws every card with Microsoft's own library, and again when the theme changes. The
// cards hold no markdown but escaped letters, so taking the backslashes away is all there is to do.

/** As a script, to be put into the page behind the library. */
export const cardScript = `
const { AdaptiveCard, HostConfig, SerializationContext } = AdaptiveCards
const faults = []
AdaptiveCard.onProcessMarkdown = (text, result) => {
  const plain = text.replace(/\\\\([\\\\\\\`*_[\\]()#~<>|{}.+-])/g, '$1')
  result.outputHtml = plain.replace(/[&<>"]/g, (one) => '&#' + one.charCodeAt(0) + ';')
  result.didProcess = true
}
const color = (ink, accent, good, warning, attention) => ({
  default: { default: ink, subtle: '#b0' + ink.slice(1) }, accent: { default: accent, subtle: accent },
  good: { default: good, subtle: good }, warning: { default: warning, subtle: warning },
  attention: { default: attention, subtle: attention },
})
const themes = {
  light: color('#242424', '#4f52b2', '#237b4b', '#a35200', '#c4314b'),
  dark: color('#ffffff', '#9299f7', '#92c353', '#f8d22a', '#f87c86'),
}
const configFor = (theme) => new HostConfig({
  fontFamily: 'system-ui, sans-serif',
  fontSizes: { small: 12, default: 14, medium: 16, large: 18, extraLarge: 22 },
  spacing: { small: 4, default: 8, medium: 12, large: 16, extraLarge: 24, padding: 0 },
  separator: { lineThickness: 1, lineColor: theme === 'dark' ? '#33ffffff' : '#22000000' },
  actions: { actionsOrientation: 'horizontal', buttonSpacing: 8, actionAlignment: 'left', maxActions: 6 },
  factSet: { title: { weight: 'bolder', wrap: true, maxWidth: 110 }, value: { wrap: true }, spacing: 12 },
  containerStyles: { default: { foregroundColors: themes[theme], backgroundColor: '#00000000' } },
})
function draw() {
  const theme = document.documentElement.dataset.theme
  for (const slot of document.querySelectorAll('.card')) {
    const card = new AdaptiveCard()
    card.hostConfig = configFor(theme)
    const context = new SerializationContext()
    card.parse(JSON.parse(slot.dataset.card), context)
    for (let i = 0; i < context.eventCount; i++) faults.push(context.getEventAt(i).message)
    const { validationEvents } = card.validateProperties()
    faults.push(...validationEvents.map(({ message }) => message))
    slot.replaceChildren(card.render())
    for (const one of slot.querySelectorAll('button')) one.classList.add('button')
    for (const one of slot.querySelectorAll('.style-positive')) one.classList.add('primary')
  }
  document.documentElement.dataset.faults = JSON.stringify(faults)
}
const dark = matchMedia('(prefers-color-scheme: dark)')
function use(theme) {
  document.documentElement.dataset.theme = theme
  draw()
}
document.getElementById('theme').addEventListener('click', () =>
  use(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'))
dark.addEventListener('change', () => use(dark.matches ? 'dark' : 'light'))
use(dark.matches ? 'dark' : 'light')
`
