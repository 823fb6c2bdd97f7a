# Stops a service cleanly. Remembers that it ran, so that restore does not start a service that
# somebody else had stopped.
$ErrorActionPreference = 'Stop'

$service = 'W3SVC'
$memory = Join-Path $env:ProgramData 'FoghornHooks'

New-Item -ItemType Directory -Force -Path $memory | Out-Null
if ((Get-Service -Name $service).Status -eq 'Running') {
    New-Item -ItemType File -Force -Path (Join-Path $memory $service) | Out-Null
    Stop-Service -Name $service
}
Write-Output "$service is stopped."
