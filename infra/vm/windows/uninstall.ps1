<#
.SYNOPSIS
Removes the Foghorn beacon. Run it as an administrator. Settings, state, logs and your hooks stay.

.PARAMETER Purge
Removes settings, state and logs, too.
#>
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding()]
param([switch] $Purge)
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$service = 'foghorn-beacon'
$programs = Join-Path $env:ProgramFiles 'Foghorn'
$data = Join-Path $env:ProgramData 'Foghorn'

if (Get-Service -Name $service -ErrorAction SilentlyContinue) {
  & (Join-Path $PSScriptRoot 'stop.ps1') removed
  & sc.exe delete $service | Out-Null
  if ($LASTEXITCODE -ne 0) { throw "sc.exe delete $service failed with code $LASTEXITCODE" }
}

foreach ($name in 'foghorn-beacon.exe', 'foghorn-service.exe', 'stop.ps1', 'uninstall.ps1',
  'LICENSE.txt') {
  # the service may need a moment to end
  for ($try = 1; Test-Path (Join-Path $programs $name); $try++) {
    try { Remove-Item -Force (Join-Path $programs $name) }
    catch { if ($try -eq 20) { throw } else { Start-Sleep -Milliseconds 500 } }
  }
}
# your own programs stay
foreach ($folder in (Join-Path $programs 'hooks'), $programs) {
  if ((Test-Path $folder) -and -not (Get-ChildItem -Force $folder)) { Remove-Item $folder }
}
# unlike Remove-Item, this removes a link and not what it leads to: the service could have made one
if ($Purge -and (Test-Path $data)) { [IO.Directory]::Delete($data, $true) }
