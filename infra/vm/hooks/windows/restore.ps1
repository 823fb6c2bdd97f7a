# Starts the service, if prepare had stopped it.
$ErrorActionPreference = 'Stop'

$service = 'W3SVC'
$memory = Join-Path $env:ProgramData 'FoghornHooks'
$mark = Join-Path $memory $service

if (-not (Test-Path $mark)) {
    Write-Output "$service did not run before."
    exit 0
}
Start-Service -Name $service
Remove-Item $mark
Write-Output "$service runs."
