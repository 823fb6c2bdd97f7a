<#
.SYNOPSIS
Stops the service of the Foghorn beacon. The other scripts run it as an administrator.

.PARAMETER Word
What the beacon says to the relay: upgrade or removed.
#>
#Requires -Version 5.1
[CmdletBinding()]
param([Parameter(Mandatory)] [ValidateSet('upgrade', 'removed')] [string] $Word)
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$service = 'foghorn-beacon'
$data = Join-Path $env:ProgramData 'Foghorn'
$written = Join-Path $data 'stopping'

# The service's account can change the folder state, or make it a link that leads anywhere: so this writes
# beside it, and moves the file to its place. A move follows no link there, and fails on a folder.
if ((Get-Service $service).Status -eq 'Running') {
  try {
    [IO.File]::WriteAllText($written, $Word)
    & icacls.exe $written /grant "NT SERVICE\${service}:M" /q | Out-Null
    $state = Join-Path $data 'state'
    if ((Get-Item -Force $state).Attributes -band [IO.FileAttributes]::ReparsePoint) { throw 'a link' }
    $place = Join-Path $state 'stopping'
    [IO.File]::Delete($place)
    [IO.File]::Move($written, $place)
  } catch {
    # without the word, the beacon says that it stops
    [IO.File]::Delete($written)
  }
}
Stop-Service -Name $service -Force
