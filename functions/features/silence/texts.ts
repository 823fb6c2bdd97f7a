// Texts of this feature for the reference in docs/.
export const silenceEvents = {
  absences_failed: 'The relay could not check who is missing in a fleet. It tries again.',
  silence_failed: 'The relay could not check which beacons are silent. It tries again.',
}
