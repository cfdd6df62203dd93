# SPDX-License-Identifier: Apache-2.0
# Installs the packages of the dashboard, or of another folder with a lock file, where they are not those of that file:
# cmake -DWEB_DIR=… -DNPM=… -P web_packages.cmake
# The stamp is inside its node_modules: all build folders share both, and who removes one removes the other.
set(stamp ${WEB_DIR}/node_modules/.allot-packages)
file(SHA256 ${WEB_DIR}/package.json manifest)
file(SHA256 ${WEB_DIR}/package-lock.json lock)
set(wanted "${manifest} ${lock}")
if(EXISTS ${stamp})
  file(READ ${stamp} there)
  if(there STREQUAL wanted)
    return()
  endif()
endif()

# From the lock file, without the packages' scripts; nothing is asked, and only errors are told.
set(ENV{npm_config_update_notifier} false)
execute_process(COMMAND ${NPM} ci --loglevel=error --no-audit --no-fund --ignore-scripts
  WORKING_DIRECTORY ${WEB_DIR} OUTPUT_QUIET RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the packages of ${WEB_DIR} could not be installed (npm ci: ${failed}); "
    "npm says why above. -DALLOT_WEB=OFF builds without the dashboard, and without tests that need npm")
endif()
file(WRITE ${stamp} "${wanted}")
